import "./app.css";

document.documentElement.classList.add("scripted");
