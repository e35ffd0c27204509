import type { Environment } from "../config/environment.ts";
import type { TraceAddress } from "./traces.ts";

/** Where traces go, in the variables of OpenTelemetry; undefined if nowhere. */
export function traceAddress(env: Environment): TraceAddress | undefined {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || (base && `${withoutSlash(base)}/v1/traces`);
  return url ? { url, headers: headersIn(env.OTEL_EXPORTER_OTLP_HEADERS ?? "") } : undefined;
}

const withoutSlash = (address: string) => (address.endsWith("/") ? address.slice(0, -1) : address);

/** `name=value,name=value`, values percent-encoded. */
const headersIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]] : [];
    }),
  );

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
