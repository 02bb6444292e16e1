// What Jupyter runs: the dashboard with Python behind it. Views of one widget share its Store, which is sent once.

// called once a widget; what initialize and render are given as `model` are two objects, so the Store cannot hang on them
export default () => {
  const views = new Set();
  let store = null;

  function initialize({ model }) {
    store = new Store(model.get("_data"));
    model.on("msg:custom", (message) => {
      if (message.add || message.requests || message.ended) store.take(message);
      for (const view of views) view.pulled(message.answer ?? {});
    });
  }

  function render({ model, el }) {
    const began = performance.now();
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
      selected: (node, band) => {
        model.set("selected", node < 0 ? null : node);
        save("band", band ? bandTold(band) : {});
      },
    });
    views.add(view);
    const atMoved = () => view.go(model.get("at"));
    const chosen = () => view.choose(model.get("selected") ?? -1);
    model.on("change:at", atMoved);
    model.on("change:selected", chosen);
    const painted = new MessageChannel();
    painted.port1.onmessage = () => { root.dataset.firstPaintMs = (performance.now() - began).toFixed(1); };
    const look = () => requestAnimationFrame(() => (root.clientHeight ? painted.port2.postMessage(0) : root.isConnected && look()));
    setTimeout(look);
    root.kvlab = view;
    return () => {
      model.off("change:at", atMoved);
      model.off("change:selected", chosen);
      views.delete(view);
      view.close();
    };
  }

  // in the words of Python
  function bandTold({ owner, bytes, node, nodes, layers, event, request, callSite }) {
    const none = (number) => (number < 0 ? null : number);
    return { owner, bytes, node: none(node), nodes: nodes.map(([one]) => one), layers, event: none(event), request, call_site: callSite ? callSite.split("\n") : null };
  }

  return { initialize, render };
};
