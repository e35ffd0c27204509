import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useOperation, useWrite } from "../client/query.ts";
import { isNew, NoticeList } from "../notifications/notice.tsx";
import { Bell as BellIcon } from "../parts/icons.tsx";
import { Failed, Loading } from "../parts/state.tsx";

const most = 6;

/** The notifications of the person: how many are unread, and the newest in a popover. */
export function Bell({ place }: { place: "side" | "bar" }) {
  const found = useOperation("notifications", {});
  const markRead = useWrite("mark_read");
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const unread = found.data?.unread ?? 0;
  const all = found.data?.notifications ?? [];
  const newest = all[0]?.id;
  const shown = [...all.filter(isNew), ...all.filter((one) => !isNew(one))].slice(0, most).sort((a, b) => b.id - a.id);
  const close = () => popover.current?.hidePopover();
  return (
    <>
      <button
        type="button"
        className="icon-button bell"
        popoverTarget={`bell-${place}`}
        aria-label={unread > 0 ? `Notifications, ${unread} unread` : "Notifications"}
      >
        <BellIcon size={place === "bar" ? 20 : 17} aria-hidden />
        {unread > 0 && (
          <span className="bell-count" aria-hidden>
            {unread > 99 ? "99+" : unread}
          </span>
        )}
      </button>
      <div
        id={`bell-${place}`}
        className="bell-list"
        popover="auto"
        ref={popover}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {isOpen && (
          <section aria-label="Newest notifications">
            {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
            {found.isPending && <Loading lines={3} />}
            {found.data && shown.length === 0 && (
              <p className="bell-empty">No notifications. Mentions, assignments and decisions appear here.</p>
            )}
            {shown.length > 0 && <NoticeList of={shown} onFollow={close} />}
            <p className="bell-foot">
              <Link to="/notifications" onClick={close}>
                All notifications
              </Link>
              {newest !== undefined && unread > 0 && (
                <button
                  type="button"
                  className="link-button"
                  disabled={markRead.isPending}
                  onClick={() => markRead.mutate({ up_to: newest })}
                >
                  Mark all read
                </button>
              )}
            </p>
          </section>
        )}
      </div>
    </>
  );
}
