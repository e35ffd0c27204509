import {
  ActivityLogIcon,
  ArchiveIcon,
  BellIcon,
  ChatBubbleIcon,
  CheckCircledIcon,
  CheckIcon,
  ChevronRightIcon,
  CircleBackslashIcon,
  CircleIcon,
  ClockIcon,
  CodeIcon,
  CornerBottomLeftIcon,
  CounterClockwiseClockIcon,
  Cross2Icon,
  CrossCircledIcon,
  Crosshair2Icon,
  EnterFullScreenIcon,
  ExclamationTriangleIcon,
  FileTextIcon,
  HamburgerMenuIcon,
  LightningBoltIcon,
  ListBulletIcon,
  MagnifyingGlassIcon,
  PauseIcon,
  Pencil1Icon,
  PersonIcon,
  PlayIcon,
  PlusCircledIcon,
  ReaderIcon,
  RocketIcon,
  RotateCounterClockwiseIcon,
  SewingPinIcon,
  Share1Icon,
  StackIcon,
  ZoomInIcon,
  ZoomOutIcon,
} from "@radix-ui/react-icons";

type Drawing = typeof CheckIcon;
type Props = Omit<Parameters<Drawing>[0], "ref"> & { size?: number };

/** An icon of one size. Without a label it is decoration, and screen readers skip it. */
const icon =
  (Shape: Drawing) =>
  ({ size = 24, ...rest }: Props) => (
    <Shape width={size} height={size} aria-hidden={rest["aria-label"] === undefined} {...rest} />
  );

/** Named after their meaning in this application. */
export const AlertTriangle = icon(ExclamationTriangleIcon);
export const Ban = icon(CircleBackslashIcon);
export const Bell = icon(BellIcon);
export const BookOpen = icon(ReaderIcon);
export const Bot = icon(LightningBoltIcon);
export const Check = icon(CheckIcon);
export const CheckCircled = icon(CheckCircledIcon);
export const ChevronRight = icon(ChevronRightIcon);
export const Circle = icon(CircleIcon);
export const Clock = icon(ClockIcon);
export const Code2 = icon(CodeIcon);
export const CornerDownLeft = icon(CornerBottomLeftIcon);
export const CrossCircled = icon(CrossCircledIcon);
export const FileStack = icon(StackIcon);
export const FileText = icon(FileTextIcon);
export const GitFork = icon(RocketIcon);
export const History = icon(CounterClockwiseClockIcon);
export const Inbox = icon(ArchiveIcon);
export const ListChecks = icon(ListBulletIcon);
export const LocateFixed = icon(Crosshair2Icon);
export const MapPin = icon(SewingPinIcon);
export const Maximize = icon(EnterFullScreenIcon);
export const Menu = icon(HamburgerMenuIcon);
export const MessageSquare = icon(ChatBubbleIcon);
export const MessageSquarePlus = icon(PlusCircledIcon);
export const MessagesSquare = icon(ChatBubbleIcon);
export const Network = icon(Share1Icon);
export const Pencil = icon(Pencil1Icon);
export const Pause = icon(PauseIcon);
export const Play = icon(PlayIcon);
export const RotateCcw = icon(RotateCounterClockwiseIcon);
export const ScrollText = icon(ActivityLogIcon);
export const Search = icon(MagnifyingGlassIcon);
export const Users = icon(PersonIcon);
export const X = icon(Cross2Icon);
export const ZoomIn = icon(ZoomInIcon);
export const ZoomOut = icon(ZoomOutIcon);
