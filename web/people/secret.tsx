import { Button, Code, CopyButton } from "@mantine/core";

/** A token that is shown once; a person's as the link that signs them in. */
export function Secret({ token, isPerson }: { token: string; isPerson: boolean }) {
  const text = isPerson ? `${location.origin}/?token=${token}` : token;
  return (
    <div className="stack">
      <p>Shown only once. {isPerson ? "This link signs them in:" : "The agent sends it as a bearer token:"}</p>
      <Code block className="secret">
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => <Button onClick={copy}>{copied ? "Copied" : "Copy"}</Button>}
      </CopyButton>
    </div>
  );
}
