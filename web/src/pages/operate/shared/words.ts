import { dictionary } from "../../../i18n";

export const words = dictionary({
  en: {
    total: "Total",
  },
  zh: {
    total: "合计",
  },
});
