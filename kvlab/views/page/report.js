
// A report: the dashboard over the dataset in this file, with nothing behind it.
(() => {
  const data = JSON.parse(document.getElementById("kvlab-data").textContent);
  const root = document.getElementById("kvlab");
  root.kvlab = mountDashboard(root, new Store(data), { opensAt: "end" });
  document.body.dataset.drawn = "yes";
})();
