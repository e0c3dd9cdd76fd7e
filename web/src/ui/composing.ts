// Keys that belong to an input method, as for Chinese: the Enter that takes a word sends nothing.

/** What its keys are called. Safari ends a composition before it tells of the Enter that did so: that
 * one says only by this number what it was. */
const PROCESSED = 229;

/** Of the browser's own event: React's has it as `nativeEvent`. */
export function isComposing(event: { isComposing: boolean; keyCode: number }): boolean {
  return event.isComposing || event.keyCode === PROCESSED;
}
