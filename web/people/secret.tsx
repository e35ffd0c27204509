import { Button, Code, CopyButton } from "@mantine/core";

/** A token or a sign-in link that is shown once. */
export function Secret({ text, about }: { text: string; about: string }) {
  return (
    <div className="stack">
      <p>{about}</p>
      <Code block className="secret">
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => <Button onClick={copy}>{copied ? "Copied" : "Copy"}</Button>}
      </CopyButton>
    </div>
  );
}

/** Under the address that this browser uses, which may be that of a proxy. */
export const linkWith = (code: string): string => `${location.origin}/?code=${code}`;
