import { send } from "./serve.js";

const form = document.getElementById("baseline");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const told = form.querySelector(".told");
  const name = new FormData(form).get("name");
  try {
    await send("PUT", `/api/v1/baselines/${encodeURIComponent(name)}`, { reference: form.dataset.reference });
    told.textContent = `It is the baseline ${name} now.`;
  } catch (error) {
    told.textContent = error.message;
  }
});
