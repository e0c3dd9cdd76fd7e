// A new chat as the last one was, with one click; or with other choices.
import { Plus, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useShortcut } from "../../../app/shortcuts";
import { useWords } from "../../../i18n";
import { Button, IconButton, later } from "../../../ui";
import { bodyOf, lastChoice } from "./choice";
import { useMake } from "./make";
import { words } from "./words";

const NewChatDialog = later(() => import("./NewChatDialog").then((loaded) => loaded.NewChatDialog));

export function NewChat() {
  const t = useWords(words);
  const make = useMake();
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  const begin = () => {
    if (make.isPending) return;
    make.mutate(bodyOf(lastChoice()), {
      onError: (error) => {
        setProblem(error);
        setOpen(true);
      },
    });
  };
  useShortcut("n", t.newChat, begin);
  return (
    <>
      <Button small look="primary" disabled={make.isPending} onClick={begin}>
        <Plus size={15} aria-hidden />
        {t.newChat}
      </Button>
      <IconButton label={t.options} onClick={() => setOpen(true)}>
        <SlidersHorizontal size={16} />
      </IconButton>
      {isOpen && (
        <NewChatDialog
          problem={problem}
          onClose={() => {
            setOpen(false);
            setProblem(null);
          }}
        />
      )}
    </>
  );
}
