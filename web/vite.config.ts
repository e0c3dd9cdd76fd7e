import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";

// Everything that the page loads comes from `/assets` with a hash in its name, so that it may be
// kept for ever; nothing is inlined, because the page's policy allows no inline code or style.
export default defineConfig({
  plugins: [react()],
  // The client is built from its sources, together with the page.
  resolve: { conditions: ["trunkline-source", ...defaultClientConditions] },
  build: {
    outDir: "dist",
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/login": "http://127.0.0.1:8080" } },
});
