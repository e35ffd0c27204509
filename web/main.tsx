import "./boot.ts";
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/prose.css";
import "./style/parts.css";
import "./style/setup.css";
import "./style/page.css";
import "./style/talk.css";
import "./style/diff.css";
import "./style/editor.css";
import "./style/graph.css";
import "./style/runs.css";
import "./style/creating.css";
import "./style/together.css";
import "./style/trust.css";
import "./style/print.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { nonce } from "./boot.ts";
import { hasPageSecret } from "./client/page-secret.ts";
import { queries } from "./client/query.ts";
import { router } from "./routes.tsx";
import { theme } from "./theme.ts";

const root = document.getElementById("root");
if (!hasPageSecret()) {
  // A cookie alone is not a session: the browser sends it to other ports of this host too.
  location.replace(`/sign-in?${new URLSearchParams({ to: location.pathname + location.search })}`);
} else if (root) {
  createRoot(root).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Notifications position="bottom-right" />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
