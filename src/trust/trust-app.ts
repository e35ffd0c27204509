import type { CoreApp } from "../config/core-app.ts";
import type { TrustStore } from "./trust.ts";

export interface TrustApp extends CoreApp {
  trust: TrustStore;
}
