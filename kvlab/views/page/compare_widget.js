// What Jupyter runs for a comparison.
export default {
  render({ model, el }) {
    const root = h("div", {});
    el.append(root);
    const view = mountCompare(root, model.get("_data"), {
      moved: (request) => {
        model.set("request", request);
        model.save_changes();
      },
    });
    return () => view.close();
  },
};
