//! Fewer colours: the group that spreads widest over the most pixels is cut in two, until there are as many as allowed.

/// A colour and how many pixels have it.
type Counted = (u32, u32);

/// Groups of similar colours, each with the colour that stands for it.
pub(super) fn groups(colours: Vec<Counted>, most: usize) -> Vec<(u32, Vec<u32>)> {
    if colours.is_empty() || most == 0 {
        return Vec::new();
    }
    let mut groups = if colours.len() <= most {
        colours.into_iter().map(|color| vec![color]).collect()
    } else {
        vec![colours]
    };
    while groups.len() < most {
        let widest = (0..groups.len()).max_by_key(|index| spread(&groups[*index]).1);
        let Some(index) = widest.filter(|index| groups[*index].len() > 1) else { break };
        let group = groups.swap_remove(index);
        let (first, second) = cut(group);
        groups.extend([first, second]);
    }
    groups
        .into_iter()
        .map(|group| (mean(&group), group.into_iter().map(|(color, _)| color).collect()))
        .collect()
}

fn channel(color: u32, index: usize) -> u64 {
    u64::from(color.to_be_bytes()[index + 1])
}

/// The channel in which a group spreads most, and how much that weighs.
fn spread(group: &[Counted]) -> (usize, u64) {
    /// How well the eye sees differences in red, green and blue.
    const SEEN: [u64; 3] = [3, 6, 1];
    let pixels: u64 = group.iter().map(|(_, count)| u64::from(*count)).sum();
    let widths = (0..3).map(|index| {
        let values = || group.iter().map(|(color, _)| channel(*color, index));
        let width = values().max().unwrap_or(0) - values().min().unwrap_or(0);
        (index, width * width * SEEN[index])
    });
    let (index, width) = widths.max_by_key(|(_, width)| *width).unwrap_or_default();
    // A rare colour still counts: a lone red word is more than its pixels.
    (index, width * u64::from(pixels.isqrt() as u32))
}

/// Cuts a group of at least two where its pixels are halved.
fn cut(mut group: Vec<Counted>) -> (Vec<Counted>, Vec<Counted>) {
    let (index, _) = spread(&group);
    group.sort_unstable_by_key(|(color, _)| (channel(*color, index), *color));
    let half: u64 = group.iter().map(|(_, count)| u64::from(*count)).sum::<u64>() / 2;
    let mut sum = 0;
    let middle = group.iter().position(|(_, count)| {
        sum += u64::from(*count);
        sum > half
    });
    let at = middle.unwrap_or(1).clamp(1, group.len() - 1);
    let second = group.split_off(at);
    (group, second)
}

fn mean(group: &[Counted]) -> u32 {
    let pixels: u64 = group.iter().map(|(_, count)| u64::from(*count)).sum();
    let of = |index: usize| {
        let sum: u64 = group.iter().map(|(color, count)| channel(*color, index) * u64::from(*count)).sum();
        ((sum + pixels / 2) / pixels.max(1)) as u8
    };
    u32::from_be_bytes([0, of(0), of(1), of(2)])
}
