// The kit that every page is made of. What a page lacks is added here, not made again. Tabs are not
// here: what they are made of is loaded with those who have some.
export { CodeLine } from "./CodeLine";
export { Copy } from "./Copy";
export {
  AddButton,
  Button,
  buttonClass,
  Checkbox,
  Field,
  IconButton,
  Input,
  Select,
  Switch,
  Textarea,
  type Choice,
} from "./controls";
export { cx } from "./cx";
export { ConfirmDialog, Dialog } from "./Dialog";
export { Diff, DiffStat } from "./Diff";
export {
  Badge,
  Empty,
  ErrorNote,
  explain,
  Spinner,
  toast,
  Unread,
  Waiting,
  type Tone,
} from "./feedback";
export { FilePicture } from "./FilePicture";
export { BYTES_SHOWN, FileText } from "./FileText";
export { JsonView } from "./JsonView";
export { later } from "./later";
export { Listing } from "./Listing";
export { Menu, type MenuItem } from "./Menu";
export { Facts, Page, Section } from "./Page";
export { RecordItem, Records, records } from "./Records";
export { Table, type Column } from "./Table";
export { Time } from "./Time";
