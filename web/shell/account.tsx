import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import { signOut } from "../client/sign-out.ts";
import { Shown } from "../parts/shown.tsx";

/** The signed-in person, and their menu. */
export function Account() {
  const menu = useRef<HTMLDivElement>(null);
  return (
    <>
      <button
        type="button"
        className="person"
        popoverTarget="account-menu"
        title={spellHidden(`Signed in as ${boot.person.name}, ${boot.person.rank}`)}
      >
        <span className="sr-only">Signed in as </span>
        <Shown text={boot.person.name} />
      </button>
      <div id="account-menu" className="account-menu" popover="auto" ref={menu}>
        <Link to="/profile" onClick={() => menu.current?.hidePopover()}>
          Profile
        </Link>
        <Link to="/notifications" onClick={() => menu.current?.hidePopover()}>
          Notifications
        </Link>
        <Link to="/sessions" onClick={() => menu.current?.hidePopover()}>
          Sessions
        </Link>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
        <button type="button" onClick={() => void signOut({ everywhere: true })}>
          Sign out everywhere
        </button>
      </div>
    </>
  );
}
