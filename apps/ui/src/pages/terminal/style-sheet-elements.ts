/**
 * Runs code of a library that makes style elements, so that it keeps the policy of the pages: a browser refuses style
 * elements there, and accepts style sheets that code makes. Only elements that are made before `make` returns are
 * replaced; what is written into them later counts as well.
 */
export function withStyleSheets(page: Document, make: () => void): void {
  const createElement = page.createElement.bind(page);
  page.createElement = (name: string) =>
    name === 'style' ? styleSheetElement(page, createElement) : createElement(name);
  try {
    make();
  } finally {
    Reflect.deleteProperty(page, 'createElement');
  }
}

/** Returns an element that shows nothing, and whose text is a style sheet for as long as the element stays. */
function styleSheetElement(page: Document, createElement: (name: string) => HTMLElement): HTMLElement {
  const element = createElement('span');
  const sheet = new CSSStyleSheet();
  const remove = element.remove.bind(element);
  element.hidden = true;
  page.adoptedStyleSheets = [...page.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', {
    set(text: string) {
      sheet.replaceSync(text);
    },
  });
  element.remove = () => {
    page.adoptedStyleSheets = page.adoptedStyleSheets.filter((one) => one !== sheet);
    remove();
  };
  return element;
}
