import { fieldsOf, jsonSchema, type Operation } from "../kernel/operation.ts";
import { version } from "../kernel/version.ts";

/** OpenAPI 3.1 of the operations: the same names, shapes and sentences as everywhere else. */
export function openApi(operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = { "/healthz": { get: health }, "/api/events": { get: events } };
  for (const operation of operations) {
    if (!operation.http) continue;
    const { method, path } = operation.http;
    paths[`/api${path}`] = { ...paths[`/api${path}`], [method]: describe(operation, path, method) };
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
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const fields = fieldsOf(operation);
  const rest = fields.filter(({ name }) => !inPath.includes(name));
  const asParameter = ({ name, schema, required }: (typeof fields)[number], place: "path" | "query") => ({
    name,
    in: place,
    required: place === "path" || required,
    schema,
    description: schema.description,
  });
  const hasBody = method === "post" || method === "put";
  const body = {
    type: "object",
    properties: Object.fromEntries(rest.map(({ name, schema }) => [name, schema])),
    required: rest.filter(({ required }) => required).map(({ name }) => name),
  };
  return {
    operationId: operation.name,
    summary: operation.summary,
    ...(operation.guidance ? { description: operation.guidance } : {}),
    parameters: [
      ...fields.filter(({ name }) => inPath.includes(name)).map((field) => asParameter(field, "path")),
      ...(hasBody ? [] : rest.map((field) => asParameter(field, "query"))),
    ],
    ...(hasBody ? { requestBody: { required: body.required.length > 0, content: json(body) } } : {}),
    responses: {
      200: { description: "Done", content: json(schemaOf(operation.output, "output")) },
      ...refusals(hasBody ? { ...problems, ...bodyProblems } : problems),
    },
    "x-callers": operation.callers,
  };
}

const json = (schema: object) => ({ "application/json": { schema } });

const schemaOf = (...given: Parameters<typeof jsonSchema>) => {
  const { $schema: _dialect, ...schema } = jsonSchema(...given);
  return schema;
};

const refusals = (statuses: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => [
      status,
      { description, content: json({ $ref: "#/components/schemas/Refusal" }) },
    ]),
  );

const problems = {
  400: "The input is wrong; `error` says where",
  401: "No token, or one that is not good",
  403: "This caller may not do that",
  404: "There is no such thing",
  409: "Someone was faster; the answer has what is there now",
  422: "A limit of the contract",
};
const bodyProblems = { 413: "The body is too large", 415: "The body is not sent as application/json" };

const refusal = {
  type: "object",
  properties: {
    status: { enum: ["invalid", "denied", "not_found", "conflict", "refused"] },
    error: { type: "string" },
    message: { type: "string", description: "In a conflict, in place of error" },
  },
  required: ["status"],
};

const health = {
  operationId: "health",
  summary: "Whether the server answers.",
  security: [],
  responses: {
    200: { description: "It does", content: json({ type: "object", properties: { status: { const: "ok" } } }) },
  },
};

const events = {
  operationId: "events",
  summary: "Follow the event log as server-sent events, from now or from where you were.",
  parameters: [
    { name: "after", in: "query", schema: { type: "string" }, description: "The id of the last event you have seen" },
    { name: "Last-Event-ID", in: "header", schema: { type: "string" }, description: "The same, as browsers send it" },
  ],
  responses: {
    200: {
      description: "One event after the other, without end",
      content: { "text/event-stream": { schema: { type: "string" } } },
    },
    ...refusals({ 401: problems[401], 403: problems[403] }),
  },
  "x-callers": ["reader", "collaborator", "admin"],
};
