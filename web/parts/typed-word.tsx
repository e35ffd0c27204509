import { TextInput } from "@mantine/core";

type Props = { word: string; value: string; onChange(value: string): void };

/** A field that confirms what cannot be undone with a click. */
export const TypedWord = ({ word, value, onChange }: Props) => (
  <TextInput
    label={`Type ${word} to confirm`}
    autoComplete="off"
    autoCapitalize="off"
    spellCheck={false}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);

export const isTyped = (word: string, value: string) => value.trim().toLowerCase() === word;
