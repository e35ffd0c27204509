import { jsonSchema } from "../kernel/json-schema.ts";
import type { Operation } from "../kernel/operation.ts";
import { fieldsOf } from "../kernel/operation-description.ts";
import { version } from "../kernel/version.ts";

/** OpenAPI 3.1 of the operations: the same names, shapes and sentences as everywhere else. */
export function openApi(operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = {
    "/healthz": { get: health },
    "/readyz": { get: readiness },
    "/api/events": { get: events },
  };
  for (const operation of operations) {
    if (!operation.http) continue;
    const { method, path } = operation.http;
    paths[`/api${path}`] = { ...paths[`/api${path}`], [method]: describe(operation, path, method) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Scriptorium",
      version,
      description:
        "Shared memory for coding agents: a wiki in git, with write permissions, version conflicts and human review.",
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "The token that `scriptorium serve` prints, or one from `scriptorium token create`",
        },
      },
      schemas: { Refusal: refusal },
    },
  };
}

function describe(operation: Operation, path: string, method: string): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const fields = fieldsOf(jsonSchema(operation.input));
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
      ...(operation.effect === "reads" ? [] : [idempotencyKey]),
    ],
    ...(hasBody ? { requestBody: { required: body.required.length > 0, content: json(body) } } : {}),
    responses: {
      200: { description: "Done", content: json(schemaOf(operation.output, "output")) },
      ...refusals(hasBody ? { ...problems, ...bodyProblems } : problems),
    },
    "x-callers": operation.callers,
  };
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  schema: { type: "string", minLength: 1, maxLength: 200 },
  description: "Repeat the request with the same key and it takes effect once; the repeat gets the first answer",
};

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
  400: "Invalid input; `error` names the field",
  401: "Missing or invalid token",
  403: "Permission denied",
  404: "Not found",
  409: "Conflict: it changed since you read it. The response contains the latest version.",
  422: "Refused by a rule of the workspace, such as the read cap",
  503: "The disk or the database cannot be used; `reason` says why. Nothing was saved",
  507: "The disk is full. Nothing was saved",
};
const bodyProblems = { 413: "The body is too large", 415: "The content type of the body is not application/json" };

const refusal = {
  type: "object",
  properties: {
    status: { enum: ["invalid", "denied", "not_found", "conflict", "refused", "storage"] },
    error: { type: "string" },
    message: { type: "string", description: "Instead of error in a conflict" },
    next: {
      type: "array",
      description: "What to call next, if there is an obvious next step",
      items: {
        type: "object",
        properties: {
          operation: { type: "string" },
          method: { type: "string" },
          path: { type: "string" },
          input: { type: "object" },
          to: { type: "string", description: "What the step is for" },
        },
      },
    },
  },
  required: ["status"],
};

const health = {
  operationId: "health",
  summary: "Health check.",
  security: [],
  responses: {
    200: {
      description: "The server is running",
      content: json({ type: "object", properties: { status: { const: "ok" } } }),
    },
  },
};

const readiness = {
  operationId: "readiness",
  summary:
    "Readiness: whether the database answers and accepts writes, and whether the present scriptorium.yaml is used.",
  security: [],
  responses: {
    200: {
      description: "Writes are accepted",
      content: json({
        type: "object",
        properties: {
          status: { enum: ["ready", "restart_needed", "upgrade_needed"] },
          reason: { type: "string", description: "upgrade_needed: a newer version has migrated the database" },
          restart_needed: { type: "array", items: { type: "string" }, description: "Changed keys that need a restart" },
          config: { enum: ["valid", "invalid"], description: "invalid: the last valid file is in use" },
        },
      }),
    },
    503: {
      description: "The database does not answer or accepts no writes; `reason` says which",
      content: json({ type: "object" }),
    },
  },
};

const events = {
  operationId: "events",
  summary: "Stream the event log as server-sent events, from now on or after a given event.",
  parameters: [
    { name: "after", in: "query", schema: { type: "string" }, description: "Id of the last event you received" },
    {
      name: "Last-Event-ID",
      in: "header",
      schema: { type: "string" },
      description: "The same, as browsers send it on reconnect",
    },
  ],
  responses: {
    200: {
      description: "A stream of events that does not end",
      content: { "text/event-stream": { schema: { type: "string" } } },
    },
    ...refusals({ 401: problems[401], 403: problems[403] }),
  },
  "x-callers": ["reader", "collaborator", "admin"],
};
