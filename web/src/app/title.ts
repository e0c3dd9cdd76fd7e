// The tab's title: how much waits for the person, where they are, whose page it is.
let page = "";
let waiting = 0;

function show(): void {
  const parts = [page, "Trunkline"].filter(Boolean).join(" · ");
  document.title = waiting > 0 ? `(${waiting}) ${parts}` : parts;
}

export function setPageTitle(title: string): void {
  page = title;
  show();
}

export function setWaiting(count: number): void {
  waiting = count;
  show();
}
