{
  const select = document.querySelector("nav select");
  const parts = [...document.querySelectorAll("[data-of]")];
  const show = () => {
    for (const part of parts) part.hidden = select.value !== "" && part.dataset.of !== select.value;
  };
  const follow = () => {
    const [key, value] = decodeURIComponent(location.hash.slice(1)).split("=");
    if (key === "only" && [...select.options].some((option) => option.value === value)) select.value = value;
    else if (document.getElementById(key)?.closest("[hidden]")) select.value = "";
    show();
    if (key !== "only") document.getElementById(key)?.scrollIntoView();
  };
  select.addEventListener("input", () => {
    show();
    location.replace(select.value ? `#only=${encodeURIComponent(select.value)}` : "#choice");
  });
  window.addEventListener("hashchange", follow);
  select.parentElement.hidden = false;
  follow();
}
