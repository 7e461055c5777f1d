import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One classic script and one style sheet with fixed names: module scripts do not load from file://.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/openmodelatlas/site/assets/app",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    lib: {
      entry: "src/main.ts",
      formats: ["iife"],
      name: "openModelAtlas",
      fileName: () => "app.js",
      cssFileName: "app",
    },
  },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
});
