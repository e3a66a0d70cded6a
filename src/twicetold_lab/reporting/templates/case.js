{
  const follow = () => {
    const input = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (input?.type === "radio") input.checked = true;
  };
  document.querySelector("form.choices").addEventListener("input", (event) => {
    if (event.target.name === "case") history.replaceState(null, "", `#${event.target.id}`);
  });
  window.addEventListener("hashchange", follow);
  follow();
}
