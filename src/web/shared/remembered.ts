/** The function with its answers kept, as long as what they are about is. */
export function remembered<K extends object, V>(answer: (about: K) => V): (about: K) => V {
  const known = new WeakMap<K, V>();
  return (about) => {
    if (!known.has(about)) known.set(about, answer(about));
    return known.get(about) as V;
  };
}
