import { createTheme } from "@mantine/core";

/** Mantine's parts in our colours; everything of our own is in style/tokens.css. */
export const theme = createTheme({
  primaryColor: "sienna",
  primaryShade: { light: 8, dark: 3 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  colors: {
    sienna: [
      "#fbf3ec",
      "#f2e0d0",
      "#e6c3a5",
      "#e0a877",
      "#cd8a55",
      "#bd7440",
      "#a8622d",
      "#975422",
      "#8a4a17",
      "#6f390f",
    ],
  },
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  headings: { fontWeight: "650" },
  components: {
    Modal: {
      defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.4 }, transitionProps: { duration: 100 } },
    },
    Button: { defaultProps: { size: "sm", variant: "filled" } },
    TextInput: { defaultProps: { size: "sm" } },
  },
});
