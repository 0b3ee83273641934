// Before anybody has logged in, Prefect requests pages that need a login, and reports the refusals as
// errors with an advert. This closes such notices until something is typed.
(() => {
  localStorage.setItem("prefect-show-promotional-content", "false");
  if (localStorage.getItem("prefect-password")) return;
  const hidden = document.createElement("style");
  hidden.textContent = ".p-toast-container { display: none }";
  document.head.append(hidden);
  const observer = new MutationObserver(() => {
    document.querySelectorAll(".p-toast-container button").forEach((button) => button.click());
  });
  observer.observe(document.documentElement, { childList: true, subtree: true });
  const begin = () => {
    observer.disconnect();
    hidden.remove();
  };
  addEventListener("input", begin, { capture: true, once: true });
})();
