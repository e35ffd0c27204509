import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  configFile: false,
  logLevel: "warn",
  plugins: [react()],
  build: {
    outDir: here("../dist/web"),
    emptyOutDir: true,
    // A file that is inlined would be a data: address, which the policy allows for pictures alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4000,
    rolldownOptions: {
      input: { index: here("index.html"), diagram: here("diagram.html"), "sign-in": here("sign-in.html") },
    },
  },
});
