// Commands can be copied: a button beside each, made here, so that none stands without a script.
for (const line of document.querySelectorAll(".line")) {
  const code = line.querySelector("code");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command");
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  const select = () => {
    getSelection().selectAllChildren(code);
    say(document.execCommand("copy") ? "Copied" : "Selected");
  };
  button.addEventListener("click", () => {
    if (!navigator.clipboard) select();
    else navigator.clipboard.writeText(code.textContent).then(() => say("Copied"), select);
  });
  line.append(button);
}
