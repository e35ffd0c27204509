import { setTimeout as sleep } from "node:timers/promises";
import {
  acceptedContent,
  completable,
  type InputRequests,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, data: pixel, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, words: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: words },
});

/** The tools, resources and prompts that the conformance suite asks a server under test to have, by its names. */
export async function conformanceServer(): Promise<McpServer> {
  const server = new McpServer(
    { name: "conformance", version: "1" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  addContentTools(server);
  addTalkingTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}

function addContentTools(server: McpServer): void {
  const content = {
    test_simple_text: [text("This is a simple text response for testing.")],
    test_image_content: [image],
    test_audio_content: [{ type: "audio" as const, data: pixel, mimeType: "audio/wav" }],
    test_embedded_resource: [
      embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
    test_multiple_content_types: [
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  };
  for (const [name, items] of Object.entries(content))
    server.registerTool(name, { description: name }, () => ({ content: items }));
  server.registerTool("test_error_handling", { description: "fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

/** Tools that say or ask something before they answer: these exercise the streams of the transport. */
function addTalkingTools(server: McpServer): void {
  const tool = (
    name: string,
    fields: z.ZodRawShape,
    run: (ctx: ServerContext, input: Record<string, string>) => Promise<unknown>,
  ) =>
    server.registerTool(name, { description: name, inputSchema: z.object(fields) }, async (input, ctx) => {
      const said = await run(ctx, input as Record<string, string>);
      return typeof said === "string" ? { content: [text(said)] } : (said as never);
    });

  tool("test_tool_with_progress", {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await sleep(20);
    }
    return "done";
  });
  const logging = async ({ mcpReq }: ServerContext) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", words);
      await sleep(20);
    }
    return "done";
  };
  tool("test_tool_with_logging", {}, logging);
  tool("test_logging_tool", {}, logging);
  tool("test_sampling", { prompt: z.string() }, async ({ mcpReq }, { prompt }) => {
    const asked = { role: "user" as const, content: text(prompt ?? "") };
    const answer = await mcpReq.requestSampling({ messages: [asked], maxTokens: 100 });
    return `LLM response: ${JSON.stringify(answer.content)}`;
  });
  const elicit = async ({ mcpReq }: ServerContext, message: string, properties: object, required: string[] = []) => {
    const requestedSchema = { type: "object" as const, properties: properties as never, required };
    const { action, content } = await mcpReq.elicitInput({ mode: "form", message, requestedSchema });
    return `action=${action}, content=${JSON.stringify(content)}`;
  };
  tool("test_elicitation", { message: z.string() }, (ctx, { message }) =>
    elicit(ctx, message ?? "", { username: { type: "string" }, email: { type: "string" } }, ["username", "email"]),
  );
  tool("test_elicitation_sep1034_defaults", {}, (ctx) => elicit(ctx, "Defaults", defaults));
  tool("test_elicitation_sep1330_enums", {}, (ctx) => elicit(ctx, "Choices", choices));

  const askName = async ({ mcpReq }: ServerContext) => {
    const schema = z.object({ name: z.string() });
    const given = acceptedContent(mcpReq.inputResponses, "user_name", schema);
    if (given) return `Hello, ${given.name}!`;
    const ask = inputRequired.elicit({ message: "What is your name?", requestedSchema: schema });
    return inputRequired({ inputRequests: { user_name: ask } });
  };
  tool("test_input_required_result_elicitation", {}, askName);
  tool("test_streaming_elicitation", {}, askName);
  const askModel = inputRequired.createMessage({
    messages: [{ role: "user", content: text("What is the capital of France?") }],
    maxTokens: 100,
  });
  /** Asks until every question has an answer, then repeats them. */
  const askAll = (questions: InputRequests) => async (ctx: ServerContext) => {
    const given = ctx.mcpReq.inputResponses ?? {};
    const complete = Object.keys(questions).every((key) => key in given);
    return complete ? JSON.stringify(given) : inputRequired({ inputRequests: questions });
  };
  tool("test_missing_capability", {}, askAll({ capital_question: askModel }));
  tool("test_input_required_result_sampling", {}, askAll({ capital_question: askModel }));
  tool("test_input_required_result_capabilities", {}, askAll({ capital_question: askModel }));
  tool("test_input_required_result_list_roots", {}, askAll({ client_roots: inputRequired.listRoots() }));
}

const defaults = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const options = ["option1", "option2", "option3"];
const titled = [1, 2, 3].map((n) => ({ const: `value${n}`, title: `Choice ${n}` }));
const choices = {
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: options } },
  titledMulti: { type: "array", items: { anyOf: titled } },
};

function addResources(server: McpServer): void {
  server.registerResource("static-text", "test://static-text", {}, async ({ href }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: "This is the content of the static text resource." }],
  }));
  server.registerResource("static-binary", "test://static-binary", {}, async ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: pixel }],
  }));
  server.registerResource("watched", "test://watched-resource", {}, async ({ href }) => ({
    contents: [{ uri: href, mimeType: "text/plain", text: "watched" }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, {}, async ({ href }, { id }) => ({
    contents: [
      {
        uri: href,
        mimeType: "application/json",
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    ],
  }));
  server.server.setRequestHandler("resources/subscribe", async () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", async () => ({}));
  server.server.setRequestHandler("logging/setLevel", async () => ({}));
}

function addPrompts(server: McpServer): void {
  const say = (...content: object[]) => ({
    messages: content.map((item) => ({ role: "user" as const, content: item as never })),
  });
  server.registerPrompt("test_simple_prompt", { description: "simple" }, () =>
    say(text("This is a simple prompt for testing.")),
  );
  const word = completable(z.string(), (typed) => ["paris", "park", "party"].filter((city) => city.startsWith(typed)));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "arguments", argsSchema: z.object({ arg1: word, arg2: z.string() }) },
    ({ arg1, arg2 }) => say(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      say(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description: "image" }, () =>
    say(image, text("Please analyze the image above.")),
  );
}
