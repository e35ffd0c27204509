import { openApi } from "../../src/http/openapi.ts";
import { jsonSchema } from "../../src/kernel/json-schema.ts";
import type { Operation } from "../../src/kernel/operation.ts";
import { fieldsOf } from "../../src/kernel/operation-description.ts";
import { toolGroups } from "../../src/kernel/tool-groups.ts";
import { allOperations } from "../../src/operation-list.ts";
import { code, escaped, fenced, page, sentence, table } from "./markdown.ts";
import { blockOf, typeOf } from "./types.ts";

export const operationsPage = () =>
  page(
    "Operations",
    "Scriptorium defines each operation once. An MCP tool and an HTTP operation id have its name; the `scribe` command has it in kebab case; the library takes it as `workspace.call(name, input)` with fields in camelCase. `callers` lists who may call it; a role in `schema.yaml` restricts agents further.",
    "An MCP connection lists the tools of the group `core` and of the groups in `--tools`. A tool that is not listed can still be called by name.",
    table(
      ["group", "tools"],
      Object.entries(toolGroups).map(([name, about]) => [code(name), sentence(about)]),
    ),
    table(
      ["operation", "group", "callers", ""],
      allOperations.map((one) => [`[${one.name}](#${one.name})`, one.group, callers(one), one.summary]),
    ),
    ...allOperations.map(section),
  );

const callers = ({ callers }: Pick<Operation, "callers">) => callers.join(", ");

function section(one: Operation): string {
  const fields = fieldsOf(jsonSchema(one.input));
  const facts = [
    `Callers: ${callers(one)}`,
    `group ${code(one.group)}`,
    one.http ? code(`${one.http.method.toUpperCase()} /api${one.http.path}`) : "no HTTP route",
    one.effect,
    ...(one.decision ? ["[decision of a person](../operating/people.md#decisions)"] : []),
  ];
  return [
    `## ${one.name}`,
    escaped(sentence(one.summary)),
    one.guidance ? escaped(one.guidance) : "",
    `${facts.join(" · ")}`,
    fields.length === 0
      ? "No input."
      : table(
          ["field", "type", "meaning"],
          fields.map(({ name, schema, required }) => [
            code(name),
            `${code(typeOf(schema))}${required ? "" : ", optional"}`,
            sentence(schema.description ?? ""),
          ]),
        ),
    "Answer:",
    fenced("ts", blockOf(jsonSchema(one.output, "output"))),
  ]
    .filter(Boolean)
    .join("\n\n");
}

type Route = {
  operationId: string;
  summary: string;
  "x-callers"?: string[];
  responses: Record<string, { description: string }>;
};

/** From the OpenAPI document that the server answers with. */
export function httpPage(): string {
  const { paths } = openApi(allOperations) as { paths: Record<string, Record<string, Route>> };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({ path, method: method.toUpperCase(), ...route })),
  );
  const statuses = new Map(
    routes
      .flatMap(({ responses }) => Object.entries(responses).filter(([status]) => status !== "200"))
      .map(([status, { description }]) => [status, description]),
  );
  return page(
    "HTTP",
    "`scriptorium serve` answers on `http://127.0.0.1:4750`, or on `port` in scriptorium.yaml. `GET /api/openapi.json` has every route with its schemas. Requests carry `Authorization: Bearer <token>`; bodies are JSON. A change with the header `Idempotency-Key` can be [repeated safely](../guides/scripts-and-ci.md#repeat-a-change-safely). An id with a slash is one encoded segment: `/api/entries/api%2Ferrors`.",
    table(
      ["route", "operation", "callers", ""],
      routes.map((route) => [
        code(`${route.method} ${route.path}`),
        allOperations.some(({ name }) => name === route.operationId)
          ? `[${route.operationId}](operations.md#${route.operationId})`
          : route.operationId,
        route["x-callers"]?.join(", ") ?? "everybody",
        sentence(route.summary),
      ]),
    ),
    "`/mcp` is the MCP server over Streamable HTTP, for agents' tokens. `GET /metrics` has the Prometheus metrics, for people's tokens.",
    "## Statuses",
    table(
      ["status", "meaning"],
      [...statuses].sort().map(([status, text]) => [status, sentence(text)]),
    ),
  );
}
