// A program in TypeScript that uses the generated types. It only has to compile.
import type { components, paths } from "./api";

type Schemas = components["schemas"];

export const site: Schemas["SiteCreate"] = {
  url: "https://shop.example",
  monitoring_settings: { tools: { "broken-links": { settings: { ignore_paths: ["/cart"] } } } },
};

type Created = paths["/teams/{team}/sites"]["post"]["responses"][201]["content"]["application/json"];

export function cadence(created: Created): number {
  const { data }: Schemas["SiteResponse"] = created;
  return data.monitoring.settings.tools.status.cadence_minutes;
}

export const update: Schemas["MonitoringUpdate"] = {
  monitoring_settings: { tools: { ssl: { enabled: true, cadence_minutes: 1440 } } },
};
