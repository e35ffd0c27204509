import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import { unified } from "unified";
import { idPrefix } from "./tree.ts";

// MathML elements that cannot contain HTML: no annotation-xml, mglyph or maction.
const formulaTags = [
  ...["math", "semantics", "mrow", "mi", "mo", "mn", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle"],
  ...["msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom"],
];

/** The allow-list of tags and attributes. */
export const cleaner = unified()
  .use(rehypeSlug)
  .use(rehypeSanitize, {
    strip: ["script", "annotation"],
    clobber: defaultSchema.clobber,
    clobberPrefix: idPrefix,
    ancestors: defaultSchema.ancestors,
    protocols: { href: ["http", "https", "mailto"] },
    required: { input: { disabled: true, type: "checkbox" } },
    tagNames: [
      ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ul", "ol", "li", "div", "section"],
      ...["table", "thead", "tbody", "tr", "th", "td"],
      ...["a", "br", "code", "del", "em", "img", "input", "span", "strong", "sup"],
      ...formulaTags,
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
      // Without src: the browser itself loads nothing.
      img: ["alt", "dataImage"],
      input: ["checked", "ariaLabel", ["disabled", true], ["type", "checkbox"]],
      li: [["className", "task-list-item"]],
      ol: ["start", ["className", "contains-task-list"]],
      p: [["className", "note"]],
      pre: [["className", "raw-html", "plain-text"]],
      section: ["dataFootnotes", ["className", "footnotes"]],
      span: [
        ["className", "hidden-char", "image-note", "missing-link", "refused-link", "file-link", "katex", "katex-error"],
        "dataS",
        "dataE",
      ],
      math: [["display", "block", "inline"]],
      mi: [["mathvariant", "normal"]],
      mo: [
        ["stretchy", "true", "false"],
        ["fence", "true", "false"],
        ["separator", "true"],
      ],
      mspace: [
        ["width", /^-?[\d.]{1,8}em$/],
        ["linebreak", "newline"],
      ],
      mtd: [["columnspan", /^\d{1,3}$/]],
      mfrac: [["linethickness", "0px"]],
      td: ["align"],
      th: ["align"],
      ul: [["className", "contains-task-list"]],
      "*": ["id", "title"],
    },
  })
  .freeze();
