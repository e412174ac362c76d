// Start: read the data, then draw what the address asks for.

const data = JSON.parse(byId("page-data").textContent);
const rows = JSON.parse(byId("row-data").textContent).map(prepare);
const rowMetrics = metricsOfRows();

function drawAll() {
  drawTheme();
  drawBoard();
  drawScatter();
  drawRows();
}

function start() {
  readAddress();
  for (const node of document.querySelectorAll("[data-needs-script]")) node.hidden = false;
  drawTheme();
  startBoard();
  startScatter();
  startRows();
  startKeys();
  byId("copy-spec").addEventListener("click", copySpec);
  // Sections are places on the page; jumping there must not drop the state from the address.
  document.querySelector("nav").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    const section = document.querySelector(link.getAttribute("href"));
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  });
  const fromAddress = () => { readAddress(); drawAll(); };
  addEventListener("hashchange", fromAddress);
  addEventListener("popstate", fromAddress);
  addEventListener("beforeprint", () => {
    for (const node of document.querySelectorAll("details.how")) node.open = true;
  });
  document.documentElement.dataset.ready = "true";
}

start();
