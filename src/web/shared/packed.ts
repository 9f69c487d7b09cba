// What the file carries as text: seven bits a character → zlib → bytes. It runs in slices of a few milliseconds, so that
// the page is painted and answers meanwhile.

declare const DecompressionStream: { new (format: "deflate"): ReadableWritablePair<Uint8Array, BufferSource> };

const SLICE_MS = 10;
const CHUNK = 1 << 18; // characters between two looks at the clock

/** Gives the browser its turn when a slice is over. */
export class Slices {
  private until = performance.now() + SLICE_MS;
  async rest(): Promise<void> {
    if (performance.now() < this.until) return;
    await pause();
    this.until = performance.now() + SLICE_MS;
  }
}

// Not setTimeout: browsers stretch nested ones to 4 ms.
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

const RESERVED = [0, 13, 60]; // what HTML does not leave alone: such a one and the character after it share a code from PAIRS on
const PAIRS = 0x100;
const LAST = PAIRS + 128 * RESERVED.length; // one that nothing follows

/** docs/html.md */
export async function bytesOfSeptets(text: string, slices: Slices): Promise<Uint8Array> {
  const out = new Uint8Array(Math.ceil((text.length * 14) / 8)); // each character may be a pair
  let size = 0;
  let bits = 0;
  let held = 0;
  const add = (septet: number): void => {
    held = ((held << 7) | septet) & 0x3fff;
    bits += 7;
    if (bits >= 8) out[size++] = (held >> (bits -= 8)) & 255;
  };
  for (let from = 0; from < text.length; from += CHUNK) {
    const to = Math.min(text.length, from + CHUNK);
    for (let i = from; i < to; ++i) {
      const code = text.charCodeAt(i);
      if (code >= PAIRS && code < LAST) add(RESERVED[(code - PAIRS) >> 7]);
      add(code & 127);
    }
    await slices.rest();
  }
  return out.subarray(0, size);
}

/** The bytes of an element, still deflated; null where there are none. */
export async function packedOf(id: string, slices: Slices): Promise<Uint8Array | null> {
  const text = document.getElementById(id)?.textContent;
  return text ? bytesOfSeptets(text, slices) : null;
}

export function inflated(packed: Uint8Array): ReadableStream<Uint8Array> {
  return (new Response(packed as BodyInit).body as ReadableStream<Uint8Array>).pipeThrough(new DecompressionStream("deflate"));
}

export const textOf = (packed: Uint8Array): Promise<string> => new Response(inflated(packed)).text();
