import { mount } from "svelte";
import "./app.css";
import { App } from "./app.svelte";
import { listen } from "./events";
import Library from "./Library.svelte";
import Overlays from "./Overlays.svelte";
import Tools from "./Tools.svelte";

const app = new App();
const slot = document.getElementById("tools");
if (slot) mount(Tools, { target: slot, props: { app } });
const models = document.querySelector<HTMLElement>('body[data-page="library"] ul.models');
if (models && models.children.length > 1) {
  const place = document.createElement("div");
  models.before(place);
  mount(Library, { target: place, props: { list: models } });
}
const layer = document.createElement("div");
layer.id = "oma-overlays";
document.body.append(layer);
mount(Overlays, { target: layer, props: { app } });
app.start();
listen(app);
document.documentElement.classList.add("scripted");
