// A report: the dashboard over the dataset in this file, with nothing behind it.
(async () => {
  const stored = document.getElementById("kvlab-data");
  const root = document.getElementById("kvlab");
  const open = (text) => {
    root.kvlab = mountDashboard(root, new Store(JSON.parse(text)), { opensAt: "end" });
    document.body.dataset.drawn = "yes";
  };
  // paper cannot unfold: what was folded is open while it is printed
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const part of unfolded) part.open = true;
  });
  window.addEventListener("afterprint", () => { for (const part of unfolded) part.open = false; });
  if (stored.dataset.packing !== "gzip") return open(stored.textContent);
  if (typeof DecompressionStream === "undefined") {
    root.textContent = "This browser cannot unpack the moments; the pictures and tables below are complete. A browser of 2023 or later can.";
    return undefined;
  }
  root.textContent = "The moments are being unpacked.";
  const packed = Uint8Array.from(atob(stored.textContent), (letter) => letter.charCodeAt(0));
  return open(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
})();
