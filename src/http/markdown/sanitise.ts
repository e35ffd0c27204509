import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import { unified } from "unified";
import { idPrefix } from "./tree.ts";

/** The last stage: this list alone decides which tags and attributes leave. */
export const cleaner = unified()
  .use(rehypeSlug)
  .use(rehypeSanitize, {
    strip: ["script"],
    clobber: defaultSchema.clobber,
    clobberPrefix: idPrefix,
    ancestors: defaultSchema.ancestors,
    protocols: { href: ["http", "https", "mailto"] },
    required: { input: { disabled: true, type: "checkbox" } },
    tagNames: [
      ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ul", "ol", "li", "div", "section"],
      ...["table", "thead", "tbody", "tr", "th", "td"],
      ...["a", "br", "code", "del", "em", "input", "span", "strong", "sup"],
    ],
    attributes: {
      a: [
        "href",
        "ariaLabel",
        "ariaDescribedBy",
        "dataFootnoteRef",
        "dataFootnoteBackref",
        ["className", "data-footnote-backref", "wiki-link", "image-link"],
        ["rel", "noopener", "noreferrer", "nofollow"],
      ],
      code: [["className", "raw-html", /^language-[\w+#.-]{1,40}$/]],
      div: [["className", "table-scroll"]],
      h2: [["className", "sr-only"]],
      input: ["checked", "ariaLabel", ["disabled", true], ["type", "checkbox"]],
      li: [["className", "task-list-item"]],
      ol: ["start", ["className", "contains-task-list"]],
      p: [["className", "note"]],
      pre: [["className", "raw-html", "plain-text"]],
      section: ["dataFootnotes", ["className", "footnotes"]],
      span: [["className", "hidden-char", "image-note", "missing-link", "refused-link"]],
      td: ["align"],
      th: ["align"],
      ul: [["className", "contains-task-list"]],
      "*": ["id", "title"],
    },
  })
  .freeze();
