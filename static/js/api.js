// The API page: Swagger UI within our page (one main, headings in order, no link inside a button).
"use strict";

const AssayPage = ({ React }) => {
  const add = React.createElement;

  function AssayLayout({ getComponent, specSelectors }) {
    const part = (name) => add(getComponent(name, true), { key: name });
    const assets = add(getComponent("SvgAssets"), { key: "assets" });
    if (!specSelectors.specStr()) {
      return add("p", { className: "meta" }, "Loading…");
    }
    return add("div", { className: "swagger-ui" }, [
      assets,
      part("errors"),
      part("InfoContainer"),
      part("AuthorizeBtnContainer"),
      add("h2", { key: "heading" }, "Routes"),
      part("FilterContainer"),
      part("operations"),
    ]);
  }

  const info = () => ({ info: about, getComponent }) => add(
    "div",
    { className: "info" },
    add("p", { className: "meta" }, `Version ${about.get("version")}`),
    add(getComponent("Markdown", true), { source: about.get("description") }),
  );

  // It stands inside the button that opens an operation: a link there cannot be told by ear.
  const DeepLink = () => ({ text }) => add("span", null, text);

  // Each open operation has a region of responses: they are told apart by their route.
  const responses = (Original) => (props) => {
    const here = React.useRef(null);
    React.useEffect(() => {
      const table = here.current.querySelector(".responses-table");
      table?.setAttribute("aria-label", `Responses of ${props.method} ${props.path}`);
    });
    return add("div", { ref: here }, add(Original, props));
  };

  return { components: { AssayLayout }, wrapComponents: { info, DeepLink, responses } };
};
