import { expect, test } from "vitest";
import { align } from "./align.ts";

const card = (id: string, wanted: number, height = 100) => ({ id, wanted, height });
const placed = (cards: ReturnType<typeof card>[], active?: string) => Object.fromEntries(align(cards, active));

test("cards that are far apart stand beside their passages", () => {
  expect(placed([card("a", 10), card("b", 300)])).toEqual({ a: 10, b: 300 });
});

test("a card that would cover another moves down", () => {
  expect(placed([card("a", 10), card("b", 50)])).toEqual({ a: 10, b: 120 });
});

test("the active card stands exactly beside its passage, and those above it make room", () => {
  expect(placed([card("a", 200), card("b", 250), card("c", 260)], "b")).toEqual({ a: 140, b: 250, c: 360 });
});

test("no card stands above the text", () => {
  expect(placed([card("a", 0), card("b", 20)], "b")).toEqual({ a: 0, b: 110 });
});
