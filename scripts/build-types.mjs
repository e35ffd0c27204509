// Writes the public types into one file without imports. The declarations that tsc emits refer to zod, kysely and
// Node's types, which a user would have to install; here every type that the library exports is printed in full.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { API, SignatureKind, SymbolFlags, TypeFlags } from "typescript/unstable/sync";

/** @import { Checker, Signature, Symbol as TypeSymbol, Type, TypeParameter } from "typescript/unstable/sync" */

const modules = { library: "src/library.ts", contract: "src/contract.ts" };

/** @param {string} [folder] */
export async function buildTypes(folder = "dist/types") {
  const api = new API({ cwd: process.cwd() });
  try {
    const project = api.updateSnapshot({ openProjects: [resolve("tsconfig.build.json")] }).getProjects()[0];
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [name, path] of Object.entries(modules)) {
      const source = project?.program.getSourceFile(resolve(path));
      const module = source && project.checker.getSymbolAtLocation(source);
      if (!module) throw new Error(`${path} is not in the project of tsconfig.build.json`);
      await writeFile(join(folder, `${name}.d.ts`), declarationsOf(project.checker, module));
    }
  } finally {
    api.close();
  }
}

/**
 * @param {Checker} checker
 * @param {TypeSymbol} module
 */
function declarationsOf(checker, module) {
  /** Declarations by symbol id, in order of first use. @type {Map<number, { name: string, text: string, parameters: number }>} */
  const declared = new Map();
  /** @type {Set<string>} */
  const names = new Set();
  const exported = checker.getExportsOfModule(module).map((symbol) => {
    const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, target };
  });
  for (const { name } of exported) names.add(name);
  const lines = exported.map(({ name, target }) => {
    if (target.flags & SymbolFlags.Function) {
      const type = checker.getTypeOfSymbol(target);
      return signaturesOf(type)
        .map((signature) => `${doc(target, "")}export declare function ${name}${signatureText(signature, ": ", "")};\n`)
        .join("");
    }
    declare(target, name);
    return "";
  });
  const isExported = new Set(exported.map(({ target }) => target.id));
  for (const [id, { text }] of declared)
    lines.push(isExported.has(id) ? text.replace(/^(?=type |interface )/m, "export ") : text);
  return `${lines.filter(Boolean).join("\n")}\nexport {};\n`;

  /**
   * @param {TypeSymbol} symbol
   * @param {string} [wanted]
   */
  function declare(symbol, wanted = symbol.name) {
    const known = declared.get(symbol.id);
    if (known) return known.name;
    let name = wanted;
    for (let n = 2; wanted === symbol.name && names.has(name) && !isOwnName(symbol, name); n++) name = `${wanted}${n}`;
    names.add(name);
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const parameters = symbol.flags & SymbolFlags.Interface ? localParameters(type) : type.getAliasTypeArguments();
    const entry = { name, text: "", parameters: parameters.length };
    declared.set(symbol.id, entry);
    const generic = parameters.length > 0 ? `<${parameters.map(parameterText).join(", ")}>` : "";
    entry.text = `${doc(symbol, "")}type ${name}${generic} = ${structure(type, "")};\n`;
    return name;
  }

  /** An exported name belongs to its symbol alone. @param {TypeSymbol} symbol @param {string} name */
  function isOwnName(symbol, name) {
    return exported.some((one) => one.name === name && one.target.id === symbol.id);
  }

  /** @param {Type} type */
  function localParameters(type) {
    return type.isClassOrInterface() ? type.getLocalTypeParameters() : [];
  }

  /** @param {Type} parameter */
  function parameterText(parameter) {
    const name = parameter.getSymbol()?.name ?? "T";
    const limit = checker.getConstraintOfTypeParameter(/** @type {TypeParameter} */ (parameter));
    const text = limit ? print(limit, "") : opaque;
    return text === opaque ? name : `${name} extends ${text}`;
  }

  /** A type by its name if it has one, else by its structure. @param {Type} type @param {string} indent @returns {string} */
  function print(type, indent) {
    const alias = type.getAliasSymbol();
    if (alias && isOurs(alias) && !isComputed(alias)) return named(alias, type.getAliasTypeArguments(), indent);
    const symbol = type.getSymbol();
    if (symbol && symbol.flags & SymbolFlags.Interface && isOurs(symbol))
      return named(symbol, argumentsOf(type), indent);
    return structure(type, indent);
  }

  /** A conditional type is printed as what it resolves to, not by its name. @param {TypeSymbol} alias */
  function isComputed(alias) {
    return (checker.getDeclaredTypeOfSymbol(alias).flags & TypeFlags.Conditional) !== 0;
  }

  /** @param {TypeSymbol} symbol @param {readonly Type[]} values @param {string} indent */
  function named(symbol, values, indent) {
    const name = declare(symbol);
    const texts = values.map((value) => print(value, indent));
    // Defaults of type parameters are not printed.
    while (texts.length < (declared.get(symbol.id)?.parameters ?? 0)) texts.push(opaque);
    return texts.length > 0 ? `${name}<${texts.join(", ")}>` : name;
  }

  /** @param {Type} type */
  function argumentsOf(type) {
    return type.isTypeReference() ? checker.getTypeArguments(type) : [];
  }

  /** @param {Type} type @param {string} indent @returns {string} */
  function structure(type, indent) {
    if (type.isUnionType()) return union(type.getTypes(), indent);
    if (type.isIntersectionType())
      return type
        .getTypes()
        .map((part) => grouped(part, indent))
        .join(" & ");
    if (type.isLiteralType()) return JSON.stringify(type.value);
    if (type.isIndexedAccessType())
      return `${print(type.getObjectType(), indent)}[${print(type.getIndexType(), indent)}]`;
    if (type.flags & TypeFlags.TypeParameter) return type.getSymbol()?.name ?? "unknown";
    if (type.flags & (TypeFlags.Conditional | TypeFlags.Substitution)) return opaque;
    if (!(type.flags & TypeFlags.Object)) return checker.typeToString(type);
    if (checker.isTupleType(type))
      return `[${argumentsOf(type)
        .map((one) => print(one, indent))
        .join(", ")}]`;
    if (checker.isArrayType(type)) return arrayText(type, indent);
    const symbol = type.getSymbol();
    if (symbol && symbol.flags & (SymbolFlags.Interface | SymbolFlags.Class) && !isOurs(symbol))
      return foreign(symbol, argumentsOf(type), indent);
    return objectText(type, indent);
  }

  /** @param {Type} type @param {string} indent */
  function arrayText(type, indent) {
    const [element] = argumentsOf(type);
    const text = element ? grouped(element, indent) : "unknown";
    return type.getSymbol()?.name === "ReadonlyArray" ? `readonly ${text}[]` : `${text}[]`;
  }

  /** @param {readonly Type[]} parts @param {string} indent */
  function union(parts, indent) {
    const texts = parts.map((part) => grouped(part, indent));
    const withBoolean =
      texts.includes("true") && texts.includes("false")
        ? ["boolean", ...texts.filter((text) => text !== "true" && text !== "false")]
        : texts;
    const empty = ["null", "undefined"];
    const last = withBoolean.filter((text) => empty.includes(text));
    return [...new Set([...withBoolean.filter((text) => !empty.includes(text)), ...last])].join(" | ");
  }

  /** @param {Type} type @param {string} indent */
  function grouped(type, indent) {
    const text = print(type, indent);
    const isCompound =
      type.isUnionType() || type.isIntersectionType() || text.startsWith("readonly ") || /^[<(]/.test(text);
    return isCompound && !/^\w+(<|$)/.test(text) ? `(${text})` : text;
  }

  /** Types of the standard library by name. @param {TypeSymbol} symbol @param {readonly Type[]} values @param {string} indent */
  function foreign(symbol, values, indent) {
    // Node's types are missing without @types/node; a Buffer is a Uint8Array.
    if (symbol.name === "Buffer") return "Uint8Array";
    if (!isStandard(symbol)) return opaque;
    return values.length > 0
      ? `${symbol.name}<${values.map((value) => print(value, indent)).join(", ")}>`
      : symbol.name;
  }

  /** @param {Type} type @param {string} indent */
  function objectText(type, indent) {
    const properties = checker.getPropertiesOfType(type);
    const calls = signaturesOf(type);
    const indexes = checker.getIndexInfosOfType(type);
    const [only] = calls;
    if (only && calls.length === 1 && properties.length === 0) return signatureText(only, " => ", indent);
    const inner = `${indent}  `;
    const members = [
      ...calls.map((call) => `${inner}${signatureText(call, ": ", inner)};`),
      ...indexes.map(
        ({ keyType, valueType }) => `${inner}[key: ${print(keyType, inner)}]: ${print(valueType, inner)};`,
      ),
      ...properties.map((property) => propertyText(property, inner)),
    ];
    return members.length > 0 ? `{\n${members.join("\n")}\n${indent}}` : "{}";
  }

  /** @param {TypeSymbol} property @param {string} indent */
  function propertyText(property, indent) {
    const type = checker.getTypeOfSymbol(property);
    if (!type) throw new Error(`no type for ${property.name}`);
    const name = /^[\w$]+$/.test(property.name) ? property.name : JSON.stringify(property.name);
    const isOptional = (property.flags & SymbolFlags.Optional) !== 0;
    const comment = doc(property, indent);
    if (property.flags & SymbolFlags.Method && !isOptional)
      return signaturesOf(type)
        .map((call) => `${comment}${indent}${name}${signatureText(call, ": ", indent)};`)
        .join("\n");
    const text = print(type, indent);
    return `${comment}${indent}${name}${isOptional ? "?" : ""}: ${isOptional ? withoutUndefined(type, text, indent) : text};`;
  }

  /** @param {Type} type @param {string} text @param {string} indent */
  function withoutUndefined(type, text, indent) {
    if (!type.isUnionType()) return text;
    const rest = type.getTypes().filter((part) => !(part.flags & TypeFlags.Undefined));
    return type.getAliasSymbol() ? text : union(rest, indent);
  }

  /** @param {Type | undefined} type */
  function signaturesOf(type) {
    return type ? checker.getSignaturesOfType(type, SignatureKind.Call) : [];
  }

  /** @param {Signature} signature @param {string} arrow @param {string} indent */
  function signatureText(signature, arrow, indent) {
    const generic = signature.getTypeParameters().map(parameterText);
    const all = signature.getParameters();
    const parameters = all.map((parameter, at) => {
      const type = checker.getTypeOfSymbol(parameter);
      if (!type) throw new Error(`no type for the parameter ${parameter.name}`);
      const node = /** @type {{ questionToken?: unknown, initializer?: unknown } | undefined} */ (
        parameter.valueDeclaration?.resolve()
      );
      const isRest = signature.hasRestParameter && at === all.length - 1;
      const isOptional = !isRest && (node?.questionToken !== undefined || node?.initializer !== undefined);
      const text = isOptional ? withoutUndefined(type, print(type, indent), indent) : print(type, indent);
      const name = /^[\w$]+$/.test(parameter.name) ? parameter.name : `value${at}`;
      return `${isRest ? "..." : ""}${name}${isOptional ? "?" : ""}: ${text}`;
    });
    const result = checker.getReturnTypeOfSignature(signature);
    const back = result ? print(result, indent) : "void";
    return `${generic.length > 0 ? `<${generic.join(", ")}>` : ""}(${parameters.join(", ")})${arrow}${back}`;
  }

  /** @param {TypeSymbol} symbol @param {string} indent */
  function doc(symbol, indent) {
    const text = checker.getDocumentationCommentOfSymbol(symbol).trim();
    if (!text) return "";
    const lines = text.split("\n");
    return lines.length === 1
      ? `${indent}/** ${text} */\n`
      : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
  }
}

/** Schemas of zod, which in-process runners pass on and a user never builds. */
const opaque = "unknown";

/** @param {TypeSymbol} symbol */
const isOurs = (symbol) => pathOf(symbol).includes("/src/") && !pathOf(symbol).includes("/node_modules/");

/** @param {TypeSymbol} symbol */
const isStandard = (symbol) => /\/lib\.[\w.]*d\.ts$/.test(pathOf(symbol)) || pathOf(symbol).includes("/@types/node/");

/** @param {TypeSymbol} symbol */
const pathOf = (symbol) => String(symbol.declarations[0]?.path ?? "");

if (import.meta.url === `file://${process.argv[1]}`) await buildTypes();
