import { jsonSchema, type Operation } from "../operation.ts";
import { version } from "../version.ts";

type Schema = { properties?: Record<string, object>; required?: string[] } & Record<string, unknown>;

/** OpenAPI 3.1 of the operations: the same names, shapes and sentences as everywhere else. */
export function openApi(operations: Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    if (!operation.http) continue;
    const { method, path } = operation.http;
    paths[`/api${path}`] ??= {};
    (paths[`/api${path}`] as Record<string, object>)[method] = describe(operation, path, method);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Scriptorium", version, description: "The shared book that agents and people write together." },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "The token `scriptorium serve` prints, or one of `token create`",
        },
      },
      schemas: { Refusal: refusal },
    },
  };
}

function describe(operation: Operation, path: string, method: string): object {
  const input = jsonSchema(operation.input) as Schema;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const properties = Object.entries(input.properties ?? {});
  const required = new Set(input.required ?? []);
  const rest = properties.filter(([name]) => !inPath.includes(name));
  const asParameter = ([name, schema]: [string, object], place: "path" | "query") => ({
    name,
    in: place,
    required: place === "path" || required.has(name),
    schema,
    description: (schema as { description?: string }).description,
  });
  const hasBody = method === "post" || method === "put";
  const body = {
    type: "object",
    properties: Object.fromEntries(rest),
    required: rest.map(([name]) => name).filter((name) => required.has(name)),
  };
  return {
    operationId: operation.name,
    summary: operation.summary,
    ...(operation.guidance ? { description: operation.guidance } : {}),
    parameters: [
      ...properties.filter(([name]) => inPath.includes(name)).map((entry) => asParameter(entry, "path")),
      ...(hasBody ? [] : rest.map((entry) => asParameter(entry, "query"))),
    ],
    ...(hasBody
      ? { requestBody: { required: body.required.length > 0, content: { "application/json": { schema: body } } } }
      : {}),
    responses: {
      200: { description: "Done", content: { "application/json": { schema: jsonSchema(operation.output, "output") } } },
      ...Object.fromEntries(
        Object.entries(problems).map(([status, description]) => [
          status,
          { description, content: { "application/json": { schema: { $ref: "#/components/schemas/Refusal" } } } },
        ]),
      ),
    },
    "x-callers": operation.callers,
  };
}

const problems = {
  400: "The input is wrong; `error` says where",
  401: "No token, or one that is not good",
  403: "This caller may not do that",
  404: "There is no such thing",
  409: "Someone was faster; the answer has what is there now",
  422: "A limit of the contract",
};

const refusal = {
  type: "object",
  properties: {
    status: { enum: ["invalid", "denied", "not_found", "conflict", "refused"] },
    error: { type: "string" },
    message: { type: "string", description: "In a conflict, in place of error" },
  },
  required: ["status"],
};
