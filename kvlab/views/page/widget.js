// What Jupyter runs: the dashboard with Python behind it. Views of one model share its Store, which is sent once.

const stores = new WeakMap();
const shown = new WeakMap();

function storeOf(model) {
  if (!stores.has(model)) {
    stores.set(model, new Store(model.get("_data")));
    shown.set(model, new Set());
  }
  return stores.get(model);
}

function initialize({ model }) {
  storeOf(model);
  const heard = (message) => {
    if (message.add || message.requests || message.ended) storeOf(model).take(message);
    for (const view of shown.get(model)) view.pulled(message.answer ?? {});
  };
  model.on("msg:custom", heard);
  return () => model.off("msg:custom", heard);
}

function render({ model, el }) {
  const began = performance.now();
  const store = storeOf(model);
  const root = h("div", {});
  el.append(root);
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = mountDashboard(root, store, {
    live: model.get("_live"),
    opensAt: model.get("_opens_at"),
    pull: (what) => model.send({ pull: what }),
    moved: (seq) => { if (model.get("at") !== seq) save("at", seq); },
    selected: (node) => save("selected", node < 0 ? null : node),
  });
  shown.get(model).add(view);
  const atMoved = () => view.go(model.get("at"));
  const chosen = () => view.choose(model.get("selected") ?? -1);
  model.on("change:at", atMoved);
  model.on("change:selected", chosen);
  root.dataset.firstMs = (performance.now() - began).toFixed(1);
  root.kvlab = view;
  return () => {
    model.off("change:at", atMoved);
    model.off("change:selected", chosen);
    shown.get(model).delete(view);
    view.close();
  };
}

export default { initialize, render };
