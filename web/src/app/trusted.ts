// The one Trusted Types policy of the page: scripts of workers, from our own files alone.

type Policy = { createScriptURL: (url: string) => unknown };
type Factory = { createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => Policy };

function own(url: string): string {
  const address = new URL(url, location.href);
  if (address.origin !== location.origin) throw new TypeError(`not a script of this page: ${url}`);
  return address.href;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("trunkline", { createScriptURL: own });

/** The address of a worker's script, as browsers with Trusted Types want it. */
export function scriptAddress(url: string): string {
  return (policy ? policy.createScriptURL(url) : own(url)) as string;
}
