export const runTone = (state: string): "idle" | "busy" | "good" | "bad" | "off" => {
  if (state === "completed") return "good";
  if (state === "failed") return "bad";
  if (state === "cancelled" || state === "stopped") return "off";
  return state === "planned" ? "idle" : "busy";
};
