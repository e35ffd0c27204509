import { Dialog } from "../parts/dialog.tsx";
import { useAvailable } from "./actions.ts";
import { Keys } from "./keys.tsx";

/** Every shortcut that works here and now. */
export function Help({ onClose }: { onClose(): void }) {
  const actions = useAvailable().filter(({ keys }) => keys);
  const groups = [...new Set(actions.map(({ group }) => group))];
  return (
    <Dialog onClose={onClose} title="Keyboard shortcuts" size="lg">
      <div className="help">
        {groups.map((group) => (
          <section key={group}>
            <h2>{group}</h2>
            <dl>
              {actions
                .filter((action) => action.group === group)
                .map((action) => (
                  <div key={action.id}>
                    <dt>{action.label}</dt>
                    <dd>
                      <Keys keys={action.keys ?? ""} />
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
